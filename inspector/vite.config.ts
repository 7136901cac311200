import { readFileSync } from "node:fs";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

/** The page has the version of the Python package, which `pyproject.toml` states. */
function packageVersion(): string {
  const project = readFileSync(new URL("../pyproject.toml", import.meta.url), "utf-8");
  const version = /^version = "([^"]+)"$/m.exec(project)?.[1];
  if (!version) throw new Error("pyproject.toml has no version");
  return version;
}

// The server sends a content security policy without inline scripts, so nothing may be inlined.
export default defineConfig({
  base: "/ui/",
  plugins: [react()],
  define: { __VERSION__: JSON.stringify(packageVersion()) },
  build: {
    outDir: "../src/sandbox_agent/page",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
  },
  test: { include: ["tests/**/*.test.ts"], environment: "node" },
});
