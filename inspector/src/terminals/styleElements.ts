/**
 * xterm.js writes its colours into <style> elements and style attributes, which the page's security policy
 * refuses. Here the same text goes into constructed style sheets and into the CSSOM, which the policy allows.
 */

import type { Terminal } from "@xterm/xterm";

/** The parts of xterm.js 6 that have no public name; the browser tests fail when they change. */
interface Internals {
  _core: {
    _renderService: {
      _renderer: { value: { _rowFactory: { _addStyle(element: HTMLElement, style: string): void } } };
    };
  };
}

/** Open a terminal in an element of the page, without anything that the policy refuses. */
export function openWithPolicy(terminal: Terminal, parent: HTMLElement): void {
  const create = document.createElement.bind(document);
  const createElement = (name: string, options?: ElementCreationOptions) =>
    name === "style" ? sheetElement(create("template")) : create(name, options);
  // All style elements are made while the terminal is opened.
  Object.defineProperty(document, "createElement", { value: createElement, configurable: true });
  try {
    terminal.open(parent);
  } finally {
    delete (document as Partial<Document>).createElement;
  }
  const { _core } = terminal as unknown as Internals;
  _core._renderService._renderer.value._rowFactory._addStyle = (element, style) => {
    element.style.cssText += `${style};`;
  };
}

/** Stands for a style element: even an empty one is refused. */
function sheetElement(element: HTMLElement): HTMLElement {
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets.push(sheet);
  Object.defineProperty(element, "textContent", { set: (text: string) => sheet.replaceSync(text) });
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet);
    Element.prototype.remove.call(element);
  };
  return element;
}
