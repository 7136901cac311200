/** Version of the Python package, set by vite.config.ts. */
declare const __VERSION__: string;

declare module "*.py?raw" {
  const text: string;
  export default text;
}
