/** A picture: small in the conversation, large in a dialog. */

import { useCallback, useState } from "react";
import type { ServerApi } from "../../api/server";
import { useConnectedApp } from "../../state/appContext";
import { base64 } from "../../ui/base64";
import { Dialog } from "../../ui/Dialog";
import { useLoaded } from "../../ui/hooks/useLoaded";
import { PathLink } from "./PathLink";

export function Picture({ source, name = "Picture" }: { source: string; name?: string }) {
  const [large, setLarge] = useState(false);
  const [broken, setBroken] = useState(false);
  if (broken) return <span className="file-chip">{name}: not a picture that this browser can show</span>;
  return (
    <>
      <button
        type="button"
        className="picture-button"
        aria-label="Enlarge the picture"
        onClick={() => setLarge(true)}
      >
        <img className="picture" src={source} alt={name} onError={() => setBroken(true)} />
      </button>
      {large && (
        <Dialog title={name} close={() => setLarge(false)} wide>
          <img className="picture-large" src={source} alt={name} />
        </Dialog>
      )}
    </>
  );
}

/** A picture in a file of the server; only its path where there is none. */
export function ServerPicture({ path }: { path: string }) {
  const api = useConnectedApp()?.api;
  const picture = useLoaded(
    useCallback(async () => (api ? pictureSource(api, path) : undefined), [api, path]),
  );
  if (!picture.value)
    return (
      <span className="file-chip">
        <PathLink path={path} />
      </span>
    );
  return <Picture source={picture.value} name={path.slice(path.lastIndexOf("/") + 1)} />;
}

async function pictureSource(api: ServerApi, path: string): Promise<string> {
  const file = await api.readFile(path);
  const type = path.toLowerCase().endsWith(".svg") ? "image/svg+xml" : file.type;
  return `data:${type};base64,${await base64(file)}`;
}
