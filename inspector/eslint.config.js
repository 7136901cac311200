import js from "@eslint/js";
import reactHooks from "eslint-plugin-react-hooks";
import { defineConfig, globalIgnores } from "eslint/config";
import tseslint from "typescript-eslint";

export default defineConfig(globalIgnores(["node_modules", "src/api/schema.d.ts"]), js.configs.recommended, {
  files: ["**/*.{ts,tsx}"],
  extends: [tseslint.configs.recommendedTypeChecked, reactHooks.configs.flat["recommended-latest"]],
  languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
  rules: {
    // Asynchronous interfaces (History) have implementations without anything to wait for.
    "@typescript-eslint/require-await": "off",
    // About the React Compiler, which the build does not use: it cannot memoise TanStack Virtual.
    "react-hooks/incompatible-library": "off",
  },
});
