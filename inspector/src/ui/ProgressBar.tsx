/** Progress of a task; without a percentage it only shows that something happens. */

export function ProgressBar({ text, percent }: { text: string; percent?: number }) {
  return (
    <div className="progress-bar" role="status">
      <progress aria-label={text} {...(percent === undefined ? {} : { value: percent, max: 100 })} />
      <span className="muted small-text">
        {text}
        {percent === undefined ? "" : ` ${percent} %`}
      </span>
    </div>
  );
}
