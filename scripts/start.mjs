// npm start: from a fresh clone to a running service. Installs and builds only if something changed since last time.
const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`Toolroom needs Node 20.19 or newer; this is Node ${process.versions.node}\n`)
  process.exit(1)
}
if (process.platform === 'win32' && (major < 22 || (major === 22 && minor < 13))) {
  process.stderr.write(
    `On Windows, Toolroom needs Node 22.13 or newer; this is Node ${process.versions.node}. Install a newer Node\n`,
  )
  process.exit(78)
}

// Imported after the check, so that an old Node prints the message above and not a syntax error.
const { prepare } = await import('./prepare.mjs')
const { fileURLToPath } = await import('node:url')
const { root } = await import('./lib.mjs')
const { userPath } = await import('./user-path.mjs')
await prepare()
if (process.env.npm_lifecycle_event) process.env.PATH = userPath(process.env.PATH ?? '', root)

// The service runs in this process: it receives signals and sets the exit code, and no parent stays in memory.
const main = new URL('../dist/main.js', import.meta.url)
process.argv[1] = fileURLToPath(main)
await import(main.href)
