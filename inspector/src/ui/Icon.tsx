/** Line icons as inline SVG. They are decoration, and hidden from screen readers. */

const PATHS = {
  inbox: "M2.500 9l2-5.500h7l2 5.500v4h-11zM2.500 9h3.500l1 1.500h2l1-1.500h3.500",
  plus: "M8 3v10M3 8h10",
  close: "M4 4l8 8M12 4l-8 8",
  send: "M2.5 8h10M8.5 4l4 4-4 4",
  stop: "M4.5 4.5h7v7h-7z",
  copy: "M6 6h7v7H6zM10 6V3H3v7h3",
  check: "M3 8.5l3.5 3.5L13 4.5",
  refresh: "M13 8a5 5 0 1 1-1.5-3.5M13 2v3h-3",
  chevron: "M6 4l4 4-4 4",
  archive: "M2.5 3.5h11v3h-11zM3.5 6.5v6h9v-6M6.5 9h3",
  trash: "M3 4.5h10M6.5 4V2.5h3V4M4.5 4.5l.5 9h6l.5-9",
  clip: "M11.5 6.5l-5 5a2 2 0 0 1-3-3l5.5-5.5a3 3 0 0 1 4.5 4l-5.5 5.5",
  download: "M8 2.5v7M5 7l3 3 3-3M3 13h10",
  upload: "M8 10V3M5 5.5L8 2.5l3 3M3 13h10",
  file: "M4 2.5h5l3 3v8H4zM9 2.5v3h3",
  folder: "M2 4h4l1.5 2H14v7H2z",
  terminal: "M3 5l3 3-3 3M8 11h5",
  edit: "M3 13l.5-3L10 3.5l2.5 2.5L6 12.5z",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.5 10.5L14 14",
  question: "M5.5 6a2.5 2.5 0 1 1 3.5 2.3c-.7.3-1 .8-1 1.7M8 12.5v.5",
  shield: "M8 2l5 2v4c0 3-2 5-5 6-3-1-5-3-5-6V4z",
  brain: "M6 13V9.500A3.500 3.500 0 1 1 10 9.500V13zM6 13h4",
  list: "M5.5 4h8M5.500 8h8M5.500 12h8M2.500 4h.1M2.500 8h.1M2.500 12h.1",
  globe: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM2 8h12M8 2c2 2 2 10 0 12M8 2c-2 2-2 10 0 12",
  tool: "M10 2.500a3.500 3.500 0 0 0-3 5L2.500 12 4 13.500 8.500 9a3.500 3.500 0 0 0 4.500-4.500L11 6.500 9.500 5l2-2z",
  theme: "M8 2a6 6 0 1 0 6 6 4.500 4.500 0 0 1-6-6z",
  menu: "M2.500 4h11M2.500 8h11M2.500 12h11",
  chat: "M2.500 3.500h11v7.500h-6L4.500 13.500V11h-2z",
  columns: "M2.500 3h11v10h-11zM6.200 3v10M9.800 3v10",
  panel: "M2.500 3h11v10h-11zM9.500 3v10",
  play: "M5 3.500l7 4.500-7 4.500z",
  pause: "M5.500 3.500v9M10.500 3.500v9",
  skipBack: "M12 3.500L6 8l6 4.500zM4 3.500v9",
  skipForward: "M4 3.500L10 8l-6 4.500zM12 3.500v9",
  warning: "M8 2.500l6 11H2zM8 7v3M8 11.500v.5",
  arrowDown: "M8 3v10M4 9l4 4 4-4",
  arrowUp: "M8 13V3M4 7l4-4 4 4",
  fork: "M4.500 3v10M4.500 9c0-2 1-3 3.500-3s3-1 3-3M2.800 4.700l1.700-1.700 1.700 1.700M9.300 4.700L11 3l1.700 1.700",
  link: "M6.500 9.500l3-3M7 5l1.500-1.500a2.500 2.500 0 0 1 4 4L11 9M9 11l-1.500 1.500a2.500 2.500 0 0 1-4-4L5 7",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg className="icon" width={size} height={size} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
