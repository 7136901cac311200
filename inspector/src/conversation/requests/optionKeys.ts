/** Keys of the options of a card, counted through the whole card: 1 to 9, then letters. */

const KEYS = "123456789abcdefghijklmnopqrstuvwxyz";

export function optionKey(index: number): string {
  return KEYS[index] ?? "";
}

/** Index of the option that a key names, or -1. */
export function optionIndex(key: string): number {
  return key.length === 1 ? KEYS.indexOf(key) : -1;
}
