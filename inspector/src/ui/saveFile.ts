/** Offers content as a download of the browser. */

const REVOKE_AFTER_MS = 10_000;

export function saveFile(name: string, content: BlobPart, type = ""): void {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), REVOKE_AFTER_MS);
}
