import { existsSync } from 'node:fs'
import { readForeignHead } from '../../../kernel/files/foreign-file.ts'
import type { Obstacle } from '../ability.ts'

/** How this system installs bubblewrap. */
export function bubblewrapMissing(read: Read = readText): Obstacle {
  const ids = [...(read('/etc/os-release') ?? '').matchAll(/^(?:ID|ID_LIKE)="?([^"\n]{1,200})/gm)]
  const names = ids.flatMap(([, list = '']) => list.split(' '))
  const install = INSTALLERS.find(([id]) => names.includes(id))?.[1] ?? 'the package manager of your system'
  return obstacle(
    'a sandbox needs bubblewrap, and there is no program bwrap in PATH',
    `Install bubblewrap with ${install}`,
  )
}

const INSTALLERS: readonly (readonly [string, string])[] = [
  ['debian', 'sudo apt-get install bubblewrap'],
  ['ubuntu', 'sudo apt-get install bubblewrap'],
  ['fedora', 'sudo dnf install bubblewrap'],
  ['rhel', 'sudo dnf install bubblewrap'],
  ['arch', 'sudo pacman -S bubblewrap'],
  ['suse', 'sudo zypper install bubblewrap'],
  ['alpine', 'sudo apk add bubblewrap'],
]

/** Why the kernel refuses the namespaces of a sandbox, and the command that allows them. `said` is the error of bwrap. */
export function namespacesRefused(bwrap: string, said: string, read: Read = readText): Obstacle {
  const clause = refusal(said)
  const value = (setting: string) => read(`/proc/sys/${setting}`)?.trim()
  if (value('user/max_user_namespaces') === '0')
    return obstacle(clause, 'Allow user namespaces: sudo sysctl -w user.max_user_namespaces=15000')
  if (value('kernel/unprivileged_userns_clone') === '0')
    return obstacle(clause, 'Allow user namespaces: sudo sysctl -w kernel.unprivileged_userns_clone=1')
  if (value('kernel/apparmor_restrict_unprivileged_userns') === '1')
    return obstacle(clause, `Allow bwrap to create user namespaces: ${appArmorProfile(bwrap)}`)
  if (read('/.dockerenv') !== undefined || read('/run/.containerenv') !== undefined)
    return obstacle(
      clause,
      'Toolroom runs in a container that forbids namespaces. Run it with --security-opt seccomp=unconfined, or set isolation to none',
    )
  return obstacle(
    clause,
    'Allow user namespaces on this system, or set isolation to none to run it without isolation',
  )
}

/** For this one program: the switch of Ubuntu 24.04 would allow every program. */
const appArmorProfile = (bwrap: string): string =>
  `printf 'abi <abi/4.0>,\\ninclude <tunables/global>\\nprofile bwrap ${bwrap} flags=(unconfined) {\\n  userns,\\n}\\n' | sudo tee /etc/apparmor.d/bwrap && sudo systemctl reload apparmor`

/** For a system that has no sandbox at all. Containers need a unix socket, so Windows has none of these either. */
export const notOnThisSystem = (system: string): Obstacle =>
  obstacle(`there is no sandbox on ${system}`, system === 'Windows' ? WITHOUT_ISOLATION : WITHOUT_SANDBOX)

export const seatbeltRefused = (said: string): Obstacle => obstacle(refusal(said), WITHOUT_SANDBOX)

export const userNotFound = (name: string, why: string): Obstacle =>
  obstacle(
    `Toolroom runs as root, and ${name}, the user for sandboxed servers, ${why}`,
    'Set SANDBOX_USER to a user without rights, or run Toolroom as an ordinary user',
  )

const refusal = (said: string): string => `the system refused a sandbox (${said})`

const WITHOUT_ISOLATION = 'Set isolation to none to run it without isolation'
const WITHOUT_SANDBOX = 'Set isolation to container, or to none to run it without isolation'

const obstacle = (clause: string, remedy: string): Obstacle => ({ clause, remedy })

type Read = (file: string) => string | undefined

function readText(file: string): string | undefined {
  try {
    return existsSync(file) ? readForeignHead(file, 4096).toString('utf8') : undefined
  } catch {
    return '' // it exists and cannot be read
  }
}
