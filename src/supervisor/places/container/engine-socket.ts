import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Obstacle } from '../ability.ts'

/** The unix socket of a container engine, or why there is none. */
export type EngineSocket =
  | { readonly ok: true; readonly path: string }
  | { readonly ok: false; readonly obstacle: Obstacle }

/** `DOCKER_HOST`, else the user's Podman, else Docker. */
export function findEngineSocket(
  env: Readonly<Record<string, string | undefined>>,
  uid: number | undefined,
  exists: (path: string) => boolean = existsSync,
): EngineSocket {
  const { DOCKER_HOST: host = '', XDG_RUNTIME_DIR: runtime } = env
  if (host !== '') return named(host)
  const podman = join(runtime ?? `/run/user/${uid ?? 0}`, 'podman/podman.sock')
  const path = [podman, DOCKER].find(exists)
  if (path !== undefined) return { ok: true, path }
  return refused(
    `there is no container engine: neither ${podman} nor ${DOCKER} exists`,
    'Start Docker, or Podman with systemctl --user start podman.socket. DOCKER_HOST names another unix socket',
  )
}

const DOCKER = '/var/run/docker.sock'

function named(host: string): EngineSocket {
  const path = /^unix:\/\/(\/.{1,1000})$/.exec(host)?.[1]
  if (path !== undefined) return { ok: true, path }
  const scheme = /^[a-z]{1,10}(?=:\/\/)/.exec(host)?.[0] ?? 'another kind of address'
  return refused(
    `DOCKER_HOST is ${scheme}, and only a unix socket is used: folders of this computer are not on another one`,
    'Set DOCKER_HOST to unix:// and the path of the socket, or unset it',
  )
}

const refused = (clause: string, remedy: string): EngineSocket => ({
  ok: false,
  obstacle: { clause, remedy },
})
