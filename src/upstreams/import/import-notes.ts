import { readContainerCommand } from '../../kernel/containers/container-command.ts'
import { referenceNotes } from '../../kernel/references/translate-definition.ts'
import type { Carrier } from '../../kernel/secrets/secrets.ts'

/** What the user has to know before an imported definition works. */
export const importNotes = (definition: Carrier): string[] => [
  ...referenceNotes(definition),
  ...dockerNotes(definition),
  ...containerNotes(definition),
]

const DOCKER = /(?:^|[\\/])(?:docker|podman)(?:\.exe)?$/
const VARIABLE = /^[A-Za-z_]\w*$/

/** `docker run -e NAME` takes the value from its own environment, which is the server's env here. */
function dockerNotes({ command = '', args = [], env = {} }: Carrier): string[] {
  if (!DOCKER.test(command) || !args.includes('run')) return []
  const passed = args.flatMap((arg, index) => {
    const inline = /^(?:-e|--env)=(.*)$/s.exec(arg)?.[1]
    const value = arg === '-e' || arg === '--env' ? args[index + 1] : inline
    return value !== undefined && VARIABLE.test(value) && !Object.hasOwn(env, value) ? [value] : []
  })
  return passed.map(
    (name) => `docker passes ${name} from its own environment to the container; add ${name} to env`,
  )
}

/** A killed `docker run` leaves its container behind. */
function containerNotes({ command = '', args = [] }: Carrier): string[] {
  const run = readContainerCommand(command, args)
  if (!run) return []
  if (!run.ok) return [`Toolroom cannot run this container itself, because it has ${run.cannot.join(', ')}`]
  const network = run.container.network === 'full' ? ', and isolation_options.network to full' : ''
  return [
    `This command runs a container, which stays when the command is killed. Set isolation to container${network}, and Toolroom runs and ends it`,
  ]
}
