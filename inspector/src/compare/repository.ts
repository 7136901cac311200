/**
 * The git repository of a comparison. Each candidate works in a worktree below `.sandbox-agent/worktrees`, which
 * `.git/info/exclude` hides from git. The worktrees begin with the last commit and what differs from it in
 * tracked files; files that git does not know are not in them.
 */

import { TitledError } from "../api/problem";
import { CommandFailed, type CommandResult, type Commands } from "./commands";
import { readFileChanges, splitPatch, type FileChange } from "./filePatches";

const FOLDER = ".sandbox-agent/worktrees";
/** A commit needs an author, also where git has none configured. */
const AUTHOR = ["-c", "user.name=sandbox-agent", "-c", "user.email=sandbox-agent@localhost"];

export interface Worktree {
  path: string;
  name: string;
}

/** What a candidate changed. */
export interface Changes {
  files: FileChange[];
  /** The patch of each file, by path. */
  patches: ReadonlyMap<string, string>;
  /** The patches are longer than what the server sends. */
  truncated: boolean;
}

export class Repository {
  private constructor(
    private readonly commands: Commands,
    readonly top: string,
  ) {}

  /** The repository that a directory is in. Rejects if there is none, or if it has no commit. */
  static async of(commands: Commands, directory: string): Promise<Repository> {
    const found = await commands.git(directory, "rev-parse", "--show-toplevel");
    const top = found.stdout.replace(/\n$/, "");
    await commands.git(top, "rev-parse", "--verify", "--quiet", "HEAD");
    return new Repository(commands, top);
  }

  /** The commit that the worktrees begin with: the last one, with the uncommitted changes of tracked files. */
  async base(): Promise<string> {
    // In a copied repository the index holds the times of other files; `stash create` then fails without a word.
    await this.commands.git(this.top, "status", "--porcelain", "--untracked-files=no");
    const stashed = await this.commands.git(this.top, ...AUTHOR, "stash", "create");
    return stashed.stdout.trim() || (await this.commands.git(this.top, "rev-parse", "HEAD")).stdout.trim();
  }

  /** How many files git does not know: they are missing in the worktrees. */
  async untracked(): Promise<number> {
    const { stdout } = await this.commands.git(this.top, "ls-files", "--others", "--exclude-standard", "-z");
    return stdout.split("\0").length - 1;
  }

  async add(name: string, base: string): Promise<Worktree> {
    const path = `${this.top}/${FOLDER}/${name}`;
    await this.exclude();
    await this.commands.git(this.top, "worktree", "add", "--quiet", "--detach", path, base);
    return { path, name };
  }

  /** The worktrees of all comparisons in this repository. */
  async worktrees(): Promise<Worktree[]> {
    const { stdout } = await this.commands.git(this.top, "worktree", "list", "--porcelain", "-z");
    const inside = `${this.top}/${FOLDER}/`;
    return stdout
      .split("\0")
      .filter((line) => line.startsWith(`worktree ${inside}`))
      .map((line) => line.slice("worktree ".length))
      .map((path) => ({ path, name: path.slice(inside.length) }));
  }

  /** Remove a worktree with everything in it. */
  async remove(path: string): Promise<void> {
    await this.commands.git(this.top, "worktree", "remove", "--force", "--force", path);
  }

  /** What differs from the base, commits and new files of the agent included. */
  async changes(path: string, base: string): Promise<Changes> {
    await this.commands.git(path, "add", "--all");
    const numbers = await this.commands.git(
      path,
      "diff",
      "--cached",
      "--numstat",
      "-z",
      "--no-renames",
      base,
    );
    const patch = await this.commands.git(path, "diff", "--cached", "--no-renames", base);
    return {
      files: readFileChanges(numbers.stdout),
      patches: splitPatch(patch.stdout),
      truncated: patch.stdoutTruncated,
    };
  }

  /** The result of a command of the user in a worktree. */
  test(path: string, command: string, limitMs: number): Promise<CommandResult> {
    return this.commands.run("sh", ["-c", command], path, limitMs);
  }

  /**
   * Apply the changes of a worktree to the original tree. `git apply` changes either everything or nothing: if
   * one file does not fit, it rejects with what git says.
   */
  async keep(path: string, base: string): Promise<void> {
    await this.commands.git(path, "add", "--all");
    const script =
      'git -C "$1" diff --cached --binary --no-renames --no-ext-diff --no-color "$2" | git apply --whitespace=nowarn -';
    try {
      await this.commands.shell(this.top, script, path, base);
    } catch (error) {
      if (!(error instanceof CommandFailed)) throw error;
      throw new TitledError("These changes no longer fit; nothing was applied", error.message);
    }
  }

  private async exclude(): Promise<void> {
    const script =
      'file=$(git rev-parse --git-path info/exclude) && mkdir -p "${file%/*}" && ' +
      '{ grep -qxF "$1" "$file" 2>/dev/null || printf "%s\\n" "$1" >> "$file"; }';
    await this.commands.shell(this.top, script, `/${FOLDER}/`);
  }
}
