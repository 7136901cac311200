/** Shown while the server cannot be reached. The session goes on: its state is what the server said last. */

export function ConnectionLost() {
  return (
    <div className="connection-lost" role="status">
      <span className="spinner" aria-hidden="true" /> Connection lost, retrying. Nothing is lost: the server
      keeps the events.
    </div>
  );
}
