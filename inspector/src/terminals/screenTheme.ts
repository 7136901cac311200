/** The colours of a terminal, from the tokens of the page; they change with its theme. */

import type { ITheme } from "@xterm/xterm";

/** The 16 colours of ANSI, readable on the page's light and dark surface. */
const LIGHT = {
  black: "#1a1f29",
  red: "#b42318",
  green: "#1a7a46",
  yellow: "#8f5200",
  blue: "#2f55d4",
  magenta: "#8e2bb5",
  cyan: "#0b6e82",
  white: "#5a6475",
  brightBlack: "#5a6475",
  brightRed: "#c9372c",
  brightGreen: "#1f7d4c",
  brightYellow: "#95590a",
  brightBlue: "#3d63e6",
  brightMagenta: "#9d3cc4",
  brightCyan: "#0f7489",
  brightWhite: "#3c4454",
};
const DARK = {
  black: "#2c333f",
  red: "#ff8f85",
  green: "#62cf92",
  yellow: "#efb562",
  blue: "#8ba6ff",
  magenta: "#d3a4ff",
  cyan: "#6fd3e6",
  white: "#e6e9ef",
  brightBlack: "#9aa4b5",
  brightRed: "#ffb0a9",
  brightGreen: "#8be0b0",
  brightYellow: "#f6cd8f",
  brightBlue: "#adc0ff",
  brightMagenta: "#e2c4ff",
  brightCyan: "#9be3f0",
  brightWhite: "#ffffff",
};

export function screenTheme(): ITheme {
  const style = getComputedStyle(document.documentElement);
  const token = (name: string) => style.getPropertyValue(name).trim();
  return {
    ...(style.colorScheme.includes("dark") ? DARK : LIGHT),
    background: token("--surface"),
    foreground: token("--text"),
    cursor: token("--accent"),
    cursorAccent: token("--surface"),
    selectionBackground: token("--accent-soft"),
  };
}

/** Calls back when the theme of the page or of the system has changed. */
export function onThemeChange(changed: () => void): () => void {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const page = new MutationObserver(changed);
  page.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  system.addEventListener("change", changed);
  return () => {
    page.disconnect();
    system.removeEventListener("change", changed);
  };
}
