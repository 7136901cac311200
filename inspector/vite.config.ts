import { readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

/** The page has the version of the Python package, which `pyproject.toml` states. */
function packageVersion(): string {
  const project = readFileSync(new URL("../pyproject.toml", import.meta.url), "utf-8");
  const version = /^version = "([^"]+)"$/m.exec(project)?.[1];
  if (!version) throw new Error("pyproject.toml has no version");
  return version;
}

/** Smaller files gain less than the header costs. */
const LEAST_COMPRESSED_BYTES = 1024;

/** Writes each text file in brotli and in gzip too; the server sends the one that the browser takes. */
export function compressed(): Plugin {
  return {
    name: "compressed",
    apply: "build",
    // Vite changes the chunks until they are written.
    async writeBundle({ dir }, bundle) {
      const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
      for (const name of Object.keys(bundle)) {
        const path = `${dir}/${name}`;
        const source = await readFile(path);
        if (!/\.(js|css)$|^replay\.html$/.test(name) || source.length < LEAST_COMPRESSED_BYTES) continue;
        await writeFile(`${path}.br`, await promisify(brotliCompress)(source, { params }));
        await writeFile(`${path}.gz`, await promisify(gzip)(source, { level: constants.Z_BEST_COMPRESSION }));
      }
    },
  };
}

// The server sends a content security policy without inline scripts, so nothing may be inlined.
export default defineConfig({
  base: "/ui/",
  plugins: [react(), compressed()],
  define: { __VERSION__: JSON.stringify(packageVersion()) },
  build: {
    outDir: "../src/sandbox_agent/page",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
    // The inspector, and the page of `sandbox-agent rollouts serve`.
    rollupOptions: { input: ["index.html", "rollouts.html"] },
  },
  test: { include: ["tests/**/*.test.ts"], environment: "node" },
});
