/** The filtered list of the Events panel. */

import { expect, test } from "vitest";
import { FilteredList } from "../../src/panels/events/filteredList";

test("an entry is tested once, and again only for another filter", () => {
  const tested: number[] = [];
  const isEven = (n: number) => {
    tested.push(n);
    return n % 2 === 0;
  };
  const list = new FilteredList<number>();
  const entries = [1, 2];
  list.update(entries, 2, isEven);
  entries.push(3, 4);
  list.update(entries, 4, isEven);
  expect(list.snapshot()).toEqual([2, 4]);
  expect(tested).toEqual([1, 2, 3, 4]);
  list.update(entries, 4, (n) => n > 2);
  expect(list.snapshot()).toEqual([3, 4]);
});

test("subscribers are called for changes only, and the snapshot stays the same otherwise", () => {
  const list = new FilteredList<number>();
  const isEven = (n: number) => n % 2 === 0;
  const entries = [2];
  let changes = 0;
  list.subscribe(() => (changes += 1));
  list.update(entries, 1, isEven);
  const before = list.snapshot();
  entries.push(3);
  list.update(entries, 2, isEven);
  expect(list.snapshot()).toBe(before);
  expect(changes).toBe(1);
});
