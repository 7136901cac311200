/** HTML entities of a text, such as `&amp;`, decoded by the browser's own table without using any markup. */

const ENTITY = /&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z][a-z\d]{1,31});/gi;

let field: HTMLTextAreaElement | undefined;

export function decodeEntities(text: string): string {
  return text.includes("&") ? text.replace(ENTITY, decoded) : text;
}

function decoded(entity: string): string {
  field ??= document.createElement("textarea");
  // The content of a text area is text: no element is made and no script runs.
  field.innerHTML = entity;
  return field.value;
}
