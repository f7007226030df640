import type { LastError } from '../../../kernel/server-state.ts'
import { notStarted, type Obstacle } from '../ability.ts'
import type { EngineError } from './engine.ts'

/** Why the engine did not start a container, for the user. */
export function explainEngine(error: EngineError, image: string, socket: string): LastError {
  const { status, message } = error
  const obstacle = engineObstacle(error, socket)
  if (obstacle) return notStarted('engine_unavailable', obstacle)
  if (status === 404 && /no such image/i.test(message))
    return notStarted('image_not_found', {
      clause: `the container engine has no image ${image}`,
      remedy: `Run toolroom images pull ${image}, or build the image, then start the server again`,
    })
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
