/** Model, mode and other options of a session, in the two shapes ACP has for them. */

import type { NewSessionResponse, SessionConfigOption } from "@agentclientprotocol/sdk";
import type { Instance } from "../live/instance";

type Offer = Pick<NewSessionResponse, "modes" | "configOptions">;

export interface SelectOption {
  id: string;
  name: string;
  category: string;
  currentValue: string;
  choices: { value: string; name: string }[];
}

/** Options a person can switch, with the older `modes` as one of them if there is no newer one. */
export function selectOptions(offer: {
  modes?: Offer["modes"];
  configOptions?: SessionConfigOption[] | null;
}): SelectOption[] {
  const listed = (offer.configOptions ?? []).flatMap(selectable);
  if (offer.modes && !listed.some((option) => option.category === "mode")) {
    const choices = offer.modes.availableModes.map((mode) => ({ value: mode.id, name: mode.name }));
    listed.push({ id: "", name: "Mode", category: "mode", currentValue: offer.modes.currentModeId, choices });
  }
  return listed;
}

function selectable(option: SessionConfigOption): SelectOption[] {
  if (option.type !== "select") return [];
  const choices = option.options.flatMap((one) => ("options" in one ? one.options : [one]));
  return [
    {
      id: option.id,
      name: option.name,
      category: option.category ?? option.id,
      currentValue: option.currentValue,
      choices: choices.map((choice) => ({ value: choice.value, name: choice.name })),
    },
  ];
}

export async function setOption(
  instance: Instance,
  sessionId: string,
  option: SelectOption,
  value: string,
): Promise<void> {
  if (option.id === "") await instance.request("session/set_mode", { sessionId, modeId: value });
  else await instance.request("session/set_config_option", { sessionId, configId: option.id, value });
}

export async function chooseMode(
  instance: Instance,
  sessionId: string,
  offer: Offer,
  mode: string,
): Promise<void> {
  await choose(instance, sessionId, offer, "mode", mode);
}

export async function chooseModel(
  instance: Instance,
  sessionId: string,
  offer: Offer,
  model: string,
): Promise<void> {
  await choose(instance, sessionId, offer, "model", model);
}

async function choose(
  instance: Instance,
  sessionId: string,
  offer: Offer,
  category: string,
  value: string,
): Promise<void> {
  const option = selectOptions(offer).find((one) => one.category === category);
  if (option && option.currentValue !== value) await setOption(instance, sessionId, option, value);
}
