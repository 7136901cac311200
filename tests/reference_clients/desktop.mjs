// Calls every desktop method of the published sandbox-agent SDK. One JSON line: what each was answered.
import { pathToFileURL } from "node:url";

const { PACKAGES, BASE_URL, TOKEN } = process.env;
const { SandboxAgent } = await import(pathToFileURL(`${PACKAGES}/sandbox-agent/dist/index.js`).href);
const sdk = await SandboxAgent.connect({ baseUrl: BASE_URL, token: TOKEN });
const names = Object.getOwnPropertyNames(SandboxAgent.prototype).filter((name) => /desktop/i.test(name));
// Methods of one thing take its id first, and those without parameters ignore both.
const ofOne = /^(focusDesktopWindow|moveDesktopWindow|resizeDesktopWindow|\w*DesktopRecording)$/;

const answers = {};
for (const name of names) {
  const body = { x: 1, y: 1, width: 1, height: 1, text: "a", key: "a", app: "a", target: "a" };
  try {
    const id = ofOne.test(name) && !name.startsWith("start") && !name.startsWith("stop") ? ["an-id"] : [];
    const given = await sdk[name](...id, body);
    answers[name] = typeof given === "string" ? "address" : "answered";
  } catch (error) {
    answers[name] = error.problem ? [error.status, error.problem.type] : String(error.message ?? error);
  }
}
await sdk.dispose();
console.log(JSON.stringify(answers));
