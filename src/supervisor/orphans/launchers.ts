/** A program that only starts another. Its flags must be known, to tell their values from what it starts. */
export interface Launcher {
  /** Flags that are followed by a value of no interest. */
  readonly valued?: string
  /** Where nearly every flag has a value: those that have none. */
  readonly bare?: string
  /** Flags whose value says what is started, besides the first plain argument. */
  readonly tells?: string
  /** Flags whose value is what is started, in place of the first plain argument. */
  readonly starts?: string
  /** Flags whose value is a program text: nothing has a name then. */
  readonly text?: string
  /** `npm` alone starts nothing, `npm exec` does. */
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
  tells: '-p --package',
  text: '-c --call',
}
const python: Launcher = { valued: '-W -X', starts: '-m', text: '-c' }
const uv: Launcher = {
  valued:
    '-p --python -w --with --with-editable --with-requirements -i --index --index-url --default-index --extra-index-url --env-file --config-file --cache-dir --group --only-group --extra --package',
  tells: '--from --directory --project',
  starts: '-m --module',
}
const container: Launcher = {
  bare: '-i -t -d -it -ti -P --interactive --tty --detach --rm --init --privileged --read-only --publish-all',
}

/** By name, or by name and verb. */
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
    'pipx run': { valued: '--python --pip-args --index-url', tells: '--spec' },
    poetry: verbs,
    'poetry run': {},
    java: { valued: '-cp -classpath --class-path', starts: '-jar' },
    dotnet: { tells: '--project' },
    ruby: { valued: '-I -r', text: '-e' },
    php: { valued: '-d -c', text: '-r' },
    docker: { valued: '-H --host --context -c --config -l --log-level', verbOnly: true },
    'docker run': container,
    podman: verbs,
    'podman run': container,
  }),
)

export const SHELLS = ['sh', 'bash', 'dash', 'zsh', 'ash', 'ksh']
