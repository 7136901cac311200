/** Lets the browser draw and react before the work goes on. Timers wait for a second in a hidden tab, messages do not. */

export function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}
