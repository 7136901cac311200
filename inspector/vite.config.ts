import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The server sends a content security policy without inline script, so nothing may be inlined.
export default defineConfig({
  base: "/ui/",
  plugins: [react()],
  build: {
    outDir: "../src/sandbox_agent/page",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
    chunkSizeWarningLimit: 900,
  },
  test: { include: ["tests/**/*.test.ts"], environment: "node" },
});
