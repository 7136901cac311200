/** Form elicitations as questions. */

import {
  asList,
  asObject,
  asText,
  listAt,
  numberAt,
  objectAt,
  plainText,
  textAt,
  type JsonObject,
} from "../json";
import { answerText, type AgentRequest, type Choice, type FieldLimits, type Question } from "./agentRequest";

/** What agents append to the name of a field for the one beside it that takes free text. */
const OTHER_SUFFIXES = ["_custom", "_note", "_other"];

/** The fields of a form that asks questions; their titles are headers. */
const NUMBERED = /^(q|question_)\d+$/;

/** Messages of forms that only say that questions follow. */
const STOCK_PHRASES = [
  "Codex needs your input to continue.",
  "Please answer the following questions.",
  "User input required",
];

type Fields = Record<string, JsonObject>;

/** One question per field; a field for free text beside another one is no question of its own. */
export function readForm(params: JsonObject): Pick<AgentRequest, "title" | "toolCallId" | "questions"> {
  const title = textAt(params, "message") ?? "The agent asks";
  const schema = objectAt(params, "requestedSchema");
  const required = listAt(schema, "required");
  const properties = Object.entries(objectAt(schema, "properties") ?? {});
  const fields: Fields = Object.fromEntries(properties.map(([name, field]) => [name, asObject(field)]));
  const others = new Map<string, string>();
  for (const name of Object.keys(fields)) {
    const main = mainField(name, fields);
    if (main !== undefined && !required.includes(name)) others.set(main, name);
  }
  const beside = [...others.values()];
  const names = Object.keys(fields).filter((name) => !beside.includes(name));
  const questions = names.map((name): Question => {
    const field = fields[name]!;
    return {
      name,
      ...texts(title, name, field, names.length === 1),
      choices: choicesOf(field),
      multiple: field.type === "array",
      required: required.includes(name),
      allowOther: others.has(name),
      otherName: others.get(name),
      valueType: valueTypeOf(field),
      ...details(field),
    };
  });
  return { title, toolCallId: textAt(params, "toolCallId"), questions };
}

/** The field beside which this one takes free text. */
function mainField(name: string, fields: Fields): string | undefined {
  if (choicesOf(fields[name]!).length > 0) return undefined;
  const mains = OTHER_SUFFIXES.filter((suffix) => name.endsWith(suffix)).map((suffix) =>
    name.slice(0, -suffix.length),
  );
  return mains.find((main) => Object.hasOwn(fields, main));
}

/**
 * The question of a field; agents put it into the message, the title or the description. The other lines
 * are dropped where they say nothing more: a stock phrase, or the header of a question.
 */
function texts(
  message: string,
  name: string,
  field: JsonObject,
  alone: boolean,
): { prompt: string; heading: string } {
  const [title, description] = [asText(field.title), asText(field.description)];
  const said = message.split("\n");
  const lines = [title, description].filter((line) => line !== null);
  const asked = lines.filter((line) => line.trimEnd().endsWith("?") || said.includes(line));
  const saysAll = NUMBERED.test(name) || (alone && message.trimEnd().endsWith("?"));
  let own = lines;
  if (asked.length > 0) own = asked;
  else if (NUMBERED.test(name)) own = description === null ? [] : [description];
  else if (saysAll) own = [];
  const repeated = STOCK_PHRASES.includes(message) || own.some((line) => said.includes(line));
  const prompt = [...new Set(own.length > 0 && repeated ? own : [message, ...own])].join("\n");
  const shown = own.filter((line) => line !== message);
  const heading = shown.length > 0 || own.length > 0 || saysAll ? shown.join("\n") : name;
  return { prompt, heading };
}

const LIMIT_NUMBERS = ["minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"] as const;

function details(field: JsonObject): Pick<Question, "description" | "defaults" | "limits"> {
  const limits: FieldLimits = {};
  for (const name of LIMIT_NUMBERS) {
    const value = numberAt(field, name);
    if (value !== undefined) limits[name] = value;
  }
  if (textAt(field, "pattern")) limits.pattern = textAt(field, "pattern");
  if (textAt(field, "format")) limits.format = textAt(field, "format");
  const given = field.default;
  const defaults = given === undefined || given === null ? [] : Array.isArray(given) ? given : [given];
  const description = textAt(field, "description");
  return {
    ...(description ? { description } : {}),
    ...(defaults.length > 0 ? { defaults: defaults.map(plainText) } : {}),
    ...(Object.keys(limits).length > 0 ? { limits } : {}),
  };
}

function valueTypeOf(field: JsonObject): Question["valueType"] {
  const type = textAt(field, "type");
  const known = ["number", "integer", "boolean", "array"] as const;
  return known.find((one) => one === type) ?? "string";
}

function choicesOf(field: JsonObject): Choice[] {
  if (field.type === "boolean") {
    return [
      { value: "true", label: "Yes" },
      { value: "false", label: "No" },
    ];
  }
  return schemaChoices(field.type === "array" ? asObject(field.items) : field);
}

function schemaChoices(schema: JsonObject): Choice[] {
  const oneOf = asList(schema.oneOf);
  const titled = oneOf.length > 0 ? oneOf : asList(schema.anyOf);
  const options = titled.length > 0 ? titled : asList(schema.enum).map((value) => ({ const: value }));
  return options.map(asObject).flatMap((option) => {
    const value = answerText(option.const);
    if (value === null) return [];
    return [{ value, label: textAt(option, "title") ?? value, description: textAt(option, "description") }];
  });
}
