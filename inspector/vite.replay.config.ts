/**
 * Builds `replay.html`: the page of an exported session in one file, with its script and style inside. A security policy
 * in the file admits these two by their hash and nothing else. It is compressed for the download of the template.
 */

import { createHash } from "node:crypto";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";
import { compressed } from "./vite.config.ts";

function hashOf(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

/** Puts the only script and the only style of the build into the document. */
function singleFile(): Plugin {
  return {
    name: "single-file",
    enforce: "post",
    // After Vite has put its own names into the script.
    generateBundle: {
      order: "post",
      handler(_options, bundle) {
        const files = Object.values(bundle);
        const page = files.find((file) => file.fileName === "replay.html");
        const scripts = files.filter((file) => file.type === "chunk");
        const styles = files.filter((file) => file.type === "asset" && file.fileName.endsWith(".css"));
        const [script, style] = [scripts[0], styles[0]];
        if (page?.type !== "asset" || !script || style?.type !== "asset" || files.length !== 3)
          throw new Error(`not one page, script and style: ${files.map((file) => file.fileName).join(", ")}`);
        // In strings and patterns: an end tag would end the element, a comment would hide its end.
        const code = script.code.trim().replaceAll("</script", "<\\/script").replaceAll("<!--", "\\x3c!--");
        const css = String(style.source).trim();
        if (css.includes("</style")) throw new Error("the style cannot stand in HTML");
        const policy =
          `default-src 'none'; script-src ${hashOf(code)}; style-src ${hashOf(css)}; ` +
          "img-src data:; base-uri 'none'; form-action 'none'";
        page.source = String(page.source)
          .replace(
            /\s*<(script type="module"|link rel="stylesheet")[^>]* (src|href)=[^>]*>(<\/script>)?/g,
            "",
          )
          .replace(
            "<head>",
            () => `<head>\n    <meta http-equiv="Content-Security-Policy" content="${policy}" />`,
          )
          .replace("</head>", () => `<style>${css}</style>\n  </head>`)
          .replace("</body>", () => `<script type="module">${code}</script>\n  </body>`);
        delete bundle[script.fileName];
        delete bundle[style.fileName];
      },
    },
  };
}

export default defineConfig({
  base: "./",
  plugins: [react(), singleFile(), compressed()],
  publicDir: false,
  build: {
    outDir: "../src/sandbox_agent/page",
    emptyOutDir: false,
    cssCodeSplit: false,
    modulePreload: false,
    target: "es2022",
    rollupOptions: { input: "replay.html", output: { codeSplitting: false } },
  },
});
