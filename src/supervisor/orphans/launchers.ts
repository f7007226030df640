/** A program that starts another one. Its flags are listed to tell their values from the program to start. */
export interface Launcher {
  /** Flags with a value that is ignored. */
  readonly valued?: string
  /** Flags without a value. If set, all other flags have one. */
  readonly bare?: string
  /** Flags whose value names what is started, in addition to the first positional argument. */
  readonly names?: string
  /** Flags whose value is the program to start, instead of the first positional argument. */
  readonly starts?: string
  /** Flags whose value is source code, which has no name. */
  readonly text?: string
  /** Starts a program only with certain subcommands, such as `npm exec`. */
  readonly verbOnly?: boolean
}

const verbs: Launcher = {
  valued: '--prefix --registry --cache --loglevel -w --workspace -C --filter',
  verbOnly: true,
}
const js: Launcher = {
  valued:
    '-r --require --import --loader --experimental-loader -C --conditions --env-file --title -P --project --tsconfig',
  text: '-e --eval -p --print -pe',
}
const packages: Launcher = {
  valued: '--registry --cache --loglevel -w --workspace --prefix',
  names: '-p --package',
  text: '-c --call',
}
const python: Launcher = { valued: '-W -X', starts: '-m', text: '-c' }
const uv: Launcher = {
  valued:
    '-p --python -w --with --with-editable --with-requirements -i --index --index-url --default-index --extra-index-url --env-file --config-file --cache-dir --group --only-group --extra --package',
  names: '--from --directory --project',
  starts: '-m --module',
}
const container: Launcher = {
  bare: '-i -t -d -it -ti -P --interactive --tty --detach --rm --init --privileged --read-only --publish-all',
}

/** By program, or by program and subcommand. */
export const LAUNCHERS: ReadonlyMap<string, Launcher> = new Map(
  Object.entries({
    node: js,
    nodejs: js,
    tsx: js,
    'ts-node': js,
    bun: js,
    'bun run': js,
    'bun x': packages,
    bunx: packages,
    deno: verbs,
    'deno run': { valued: '-c --config --import-map --lock --cert' },
    npx: packages,
    npm: verbs,
    'npm exec': packages,
    'npm x': packages,
    'npm run': packages,
    pnpm: verbs,
    'pnpm dlx': packages,
    'pnpm exec': packages,
    'pnpm run': packages,
    yarn: verbs,
    'yarn dlx': packages,
    'yarn run': packages,
    python,
    pypy: python,
    uv: { ...uv, verbOnly: true },
    'uv run': uv,
    'uv tool': { ...uv, verbOnly: true },
    'uv tool run': uv,
    'uv tool uvx': uv,
    uvx: uv,
    pipx: verbs,
    'pipx run': { valued: '--python --pip-args --index-url', names: '--spec' },
    poetry: verbs,
    'poetry run': {},
    java: { valued: '-cp -classpath --class-path', starts: '-jar' },
    dotnet: { names: '--project' },
    ruby: { valued: '-I -r', text: '-e' },
    php: { valued: '-d -c', text: '-r' },
    docker: { valued: '-H --host --context -c --config -l --log-level', verbOnly: true },
    'docker run': container,
    podman: verbs,
    'podman run': container,
  }),
)

export const SHELLS = ['sh', 'bash', 'dash', 'zsh', 'ash', 'ksh']
