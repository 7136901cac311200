/** An amount in US dollars; small ones with more digits. */
export function money(usd: number): string {
  return `$${usd.toFixed(usd > 0 && usd < 1 ? 4 : 2)}`;
}
