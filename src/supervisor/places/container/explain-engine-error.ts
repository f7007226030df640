import { AppError } from '../../../kernel/errors.ts'
import type { LastError } from '../../../kernel/server-state.ts'
import { notStarted, type Obstacle, sentenceOf } from '../ability.ts'
import type { EngineError } from './engine.ts'

/** Why the engine did not start a container, for the user. */
export function explainEngine(error: EngineError, image: string, socket: string): LastError {
  const { status, message } = error
  const obstacle = engineObstacle(error, socket)
  if (obstacle) return notStarted('engine_unavailable', obstacle, { kind: 'start_docker' })
  if (status === 404 && /no such image/i.test(message)) {
    const clause = `the container engine has no image ${image}`
    const remedy = `Pull the image ${image}, or build it, then start the server again`
    return notStarted('image_not_found', { clause, remedy }, { kind: 'pull_image', image })
  }
  return notStarted('container_failed', {
    clause: `the container engine said: ${message}`,
    remedy: 'Check image, command and isolation_options, then start it again',
  })
}

/** Why the engine cannot be used. Undefined if it has answered. */
export function engineObstacle({ status, message }: EngineError, socket: string): Obstacle | undefined {
  if (status !== 0) return undefined
  if (/EACCES|EPERM/.test(message))
    return {
      clause: `the container engine at ${socket} refuses this user`,
      remedy:
        'Add your user to the group of the socket (for Docker: sudo usermod -aG docker $USER), then log out and in again',
    }
  return {
    clause: `the container engine does not answer: ${message}`,
    remedy: `Start the container engine of ${socket}`,
  }
}

interface Pulled {
  readonly image: string
  readonly engine: 'docker' | 'podman'
  readonly socket: string
}

const FULL = /no space left on device|disk quota exceeded/i
/** Docker Hub answers this for a name that does not exist, too. */
const UNCLEAR = /repository does not exist or may require|requested access to the resource is denied/i
const LOGIN =
  /unauthorized|authentication required|no basic auth credentials|access (?:forbidden|denied)|\b40[13]\b/i
const MISSING = /manifest unknown|name unknown|not found|no such (?:image|manifest)|does not exist|\b404\b/i

/** Why an image was not downloaded. */
export function explainPull(error: EngineError, { image, engine, socket }: Pulled): AppError {
  const { message } = error
  const obstacle = engineObstacle(error, socket)
  if (obstacle) return noEngine(obstacle)
  const byHand = `${engine} login, then ${engine} pull ${image}, in a terminal`
  if (FULL.test(message))
    return new AppError('disk_full', `The image ${image} was not pulled: ${message}`, {
      hint: `Free some space on the disk of the container engine, for example with ${engine} image prune`,
    })
  if (UNCLEAR.test(message))
    return new AppError('image_not_found', `The image ${image} does not exist, or is private: ${message}`, {
      hint: `Check the name. For a private image run ${byHand}: Toolroom sends no login to image registries`,
    })
  if (MISSING.test(message))
    return new AppError('image_not_found', `There is no image ${image}: ${message}`, {
      hint: 'Check the name, the tag and the image registry',
    })
  if (LOGIN.test(message))
    return new AppError('image_login_needed', `The image registry refused ${image}: ${message}`, {
      hint: `Run ${byHand}: Toolroom sends no login to image registries`,
    })
  return new AppError('image_pull_failed', `The image ${image} was not pulled: ${message}`, {
    hint: `Try it again later, or run ${engine} pull ${image} in a terminal`,
  })
}

export const noEngine = ({ clause, remedy }: Obstacle): AppError =>
  new AppError('engine_unavailable', sentenceOf(clause), { hint: remedy })
