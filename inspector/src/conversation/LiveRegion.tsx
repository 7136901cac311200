/** Announces requests, ends of turns and errors to screen readers, but not every chunk of text. */

export function LiveRegion({ text }: { text: string | undefined }) {
  return (
    <div className="visually-hidden" aria-live="polite">
      {text}
    </div>
  );
}
