export function Logo() {
  return (
    <svg className="logo" width="22" height="22" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" className="logo-background" />
      <path d="M8 11l6 5-6 5M17 22h8" className="logo-line" />
    </svg>
  );
}
