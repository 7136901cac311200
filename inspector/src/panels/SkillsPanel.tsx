/** The skills of a directory and their sources. */

import { useState, type FormEvent } from "react";
import type { ConfigEntry } from "../api/bodies";
import { ConfigPanel, type SaveEntry } from "./ConfigPanel";

export function SkillsPanel() {
  return (
    <ConfigPanel
      kind="skills"
      title="Skills"
      about="Sources of skills for this directory. The server stores them; new sessions in the directory get them."
      tag={(entry) => entry.sources.map((source) => source.type).join(", ")}
      form={(save, edited) => <SkillForm save={save} edited={edited} />}
    />
  );
}

interface FormProps {
  save: SaveEntry<"skills">;
  edited?: { name: string; entry: ConfigEntry["skills"] };
}

function SkillForm({ save, edited }: FormProps) {
  const empty = { name: "", type: "github", source: "", skills: "", ref: "", subpath: "" };
  const [values, setValues] = useState(() => (edited ? fieldsOf(edited.name, edited.entry) : empty));
  const set = (key: keyof typeof empty) => (event: { target: { value: string } }) =>
    setValues({ ...values, [key]: event.target.value });
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const skills = values.skills
      .split(",")
      .map((one) => one.trim())
      .filter(Boolean);
    const source: ConfigEntry["skills"]["sources"][number] = {
      type: values.type,
      source: values.source.trim(),
    };
    if (skills.length > 0) source.skills = skills;
    if (values.ref) source.ref = values.ref.trim();
    if (values.subpath) source.subpath = values.subpath.trim();
    // The form shows the first source; the others of an entry stay.
    const others = edited?.entry.sources.slice(1) ?? [];
    if ((await save(values.name.trim(), { sources: [source, ...others] })) && !edited) setValues(empty);
  };
  return (
    <form
      className="form card"
      aria-label={edited ? `Edit ${edited.name}` : "Add a skill"}
      onSubmit={(event) => void submit(event)}
    >
      <h3>{edited ? `Edit ${edited.name}` : "Add a skill"}</h3>
      <div className="form-row">
        <label>
          Name
          <input value={values.name} required onChange={set("name")} />
        </label>
        <label>
          Type
          <select value={values.type} onChange={set("type")}>
            <option value="github">github</option>
            <option value="git">git</option>
            <option value="local">local</option>
          </select>
        </label>
      </div>
      <label>
        Source
        <input
          className="mono"
          value={values.source}
          required
          placeholder={
            values.type === "github"
              ? "owner/repository"
              : values.type === "git"
                ? "https://…/repository.git"
                : "/path/to/skills"
          }
          onChange={set("source")}
        />
      </label>
      <label>
        Only these skills, separated by commas
        <input value={values.skills} onChange={set("skills")} />
      </label>
      <div className="form-row">
        <label>
          Branch or tag
          <input value={values.ref} onChange={set("ref")} />
        </label>
        <label>
          Folder inside
          <input value={values.subpath} onChange={set("subpath")} />
        </label>
      </div>
      <button type="submit" className="button primary">
        Add skill
      </button>
    </form>
  );
}

function fieldsOf(name: string, entry: ConfigEntry["skills"]) {
  const [source] = entry.sources;
  return {
    name,
    type: source?.type ?? "github",
    source: source?.source ?? "",
    skills: (source?.skills ?? []).join(", "),
    ref: source?.ref ?? "",
    subpath: source?.subpath ?? "",
  };
}
