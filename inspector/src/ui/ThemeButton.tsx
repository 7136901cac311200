import { Icon } from "./Icon";
import type { Theme } from "./hooks/useTheme";

export function ThemeButton({ theme }: { theme: Theme }) {
  const label = `Theme: ${theme.name}`;
  return (
    <button type="button" className="icon-button" aria-label={label} title={label} onClick={theme.next}>
      <Icon name="theme" />
    </button>
  );
}
