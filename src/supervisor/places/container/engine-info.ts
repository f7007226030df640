import { type Engine, isRecord } from './engine.ts'

export interface EngineInfo {
  readonly name: 'docker' | 'podman'
  readonly version: string | null
}

/** A user waits for it. */
const ANSWER_MS = 5000

/** Which engine it is. Rejects with an EngineError. */
export async function engineInfo(engine: Engine): Promise<EngineInfo> {
  const said = await engine.get('/version', {}, ANSWER_MS)
  const { Components: components = [], Version: version } = isRecord(said) ? said : {}
  const isPodman = JSON.stringify(components).includes('Podman Engine')
  return {
    name: isPodman ? 'podman' : 'docker',
    version: typeof version === 'string' ? version.slice(0, 100) : null,
  }
}

/** An engine of this user, which has no more rights than the user. */
export async function isRootless(engine: Engine): Promise<boolean> {
  const info = await engine.get('/info')
  const options = isRecord(info) && Array.isArray(info.SecurityOptions) ? info.SecurityOptions : []
  return options.some((option) => String(option).includes('rootless'))
}
