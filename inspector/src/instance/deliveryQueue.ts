/**
 * Keeps a message of this browser before the agent's reaction to it. The agent may react before the answer of the
 * POST is here, so what the stream brings meanwhile is delivered after it, or after a second.
 */

const HELD_MS = 1000;

export class DeliveryQueue {
  /** POSTs that hold the deliveries back. */
  private posts = 0;
  private readonly held: (() => void)[] = [];

  deliver(run: () => void): void {
    if (this.posts > 0) this.held.push(run);
    else run();
  }

  async during(post: () => Promise<void>): Promise<void> {
    this.posts += 1;
    let holds = true;
    const release = () => {
      if (!holds) return;
      holds = false;
      this.posts -= 1;
      if (this.posts === 0) for (const run of this.held.splice(0)) run();
    };
    const timer = setTimeout(release, HELD_MS);
    try {
      await post();
    } finally {
      clearTimeout(timer);
      release();
    }
  }
}
