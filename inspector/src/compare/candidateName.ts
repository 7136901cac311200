/** Names that tell the candidates of a comparison apart. */

import { agentLabel } from "../ui/agentLabel";
import type { Candidate } from "./record";

export function candidateName(candidates: readonly Candidate[], index: number): string {
  const own = plainName(candidates[index]!);
  const same = candidates.filter((one) => plainName(one) === own);
  return same.length > 1 ? `${own} #${same.indexOf(candidates[index]!) + 1}` : own;
}

function plainName({ agent, model }: Candidate): string {
  return model ? `${agentLabel(agent)} · ${model}` : agentLabel(agent);
}
