import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The library that changes the clock of a program, from the package `faketime`, which `npm test` installs. */
export function findFaketime(): string | undefined {
  const roots = ['/usr/lib', '/usr/local/lib'].filter(existsSync)
  const folders = roots.flatMap((root) => [root, ...readdirSync(root).map((name) => join(root, name))])
  return folders.map((folder) => join(folder, 'faketime/libfaketimeMT.so.1')).find(existsSync)
}

/** The environment of a program whose clock on the wall is set by a file. Durations and file times stay real. */
export const fakeClock = (library: string, file: string) => ({
  LD_PRELOAD: library,
  FAKETIME_TIMESTAMP_FILE: file,
  FAKETIME_NO_CACHE: '1',
  FAKETIME_DONT_FAKE_MONOTONIC: '1',
  NO_FAKE_STAT: '1',
})

/** Sets the clock to this many seconds from the real time. */
export const setClock = (file: string, offsetS: number): void =>
  writeFileSync(file, `${offsetS < 0 ? '-' : '+'}${Math.abs(offsetS)}\n`)
