import type { LastError } from '../../../kernel/server-state.ts'
import type { EngineError } from './engine.ts'

/** Why the engine did not start a container, for the user. */
export function explainEngine({ status, message }: EngineError, image: string, socket: string): LastError {
  if (/EACCES|EPERM/.test(message) && status === 0)
    return {
      code: 'engine_unavailable',
      message: `The server was not started: the container engine at ${socket} refuses this user`,
      hint: 'Add your user to the group of the socket (for Docker: sudo usermod -aG docker $USER), then log out and in again',
    }
  if (status === 0)
    return {
      code: 'engine_unavailable',
      message: `The server was not started: ${message}`,
      hint: `Start the container engine of ${socket}, then start the server again`,
    }
  if (status === 404 && /no such image/i.test(message))
    return {
      code: 'image_not_found',
      message: `The server was not started: the container engine has no image ${image}`,
      hint: 'Pull or build the image, then start the server again',
    }
  return {
    code: 'container_failed',
    message: `The server was not started: the container engine said: ${message}`,
    hint: 'Check image, command and isolation_options, then start it again',
  }
}
