/** Model, mode and other options of a session, in the two shapes ACP has for them. */

import type { NewSessionResponse, SessionConfigOption } from "@agentclientprotocol/sdk";
import type { Instance } from "../instance/instance";

type Offer = Pick<NewSessionResponse, "modes" | "configOptions">;

export interface SelectOption {
  id: string;
  name: string;
  category: string;
  currentValue: string;
  choices: { value: string; name: string }[];
}

/** Options that the user can change; the older `modes` is one of them if no option replaces it. */
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

/** Set the option of a category, `mode` or `model`, if the agent offers it and it has another value. */
export async function chooseOption(
  instance: Instance,
  sessionId: string,
  offer: Offer,
  category: string,
  value: string,
): Promise<void> {
  const option = selectOptions(offer).find((one) => one.category === category);
  if (option && option.currentValue !== value) await setOption(instance, sessionId, option, value);
}
