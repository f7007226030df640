import type { Flag } from '../run/command.ts'

/** Where the process of a server runs, and what it may reach there: the same for every command that takes it. */
export const ISOLATION_FLAGS = {
  isolation: { does: 'Where it runs.', value: 'KIND', oneOf: ['none', 'sandbox', 'container'] },
  write: { does: 'A file or folder that it may change.', value: 'PATH', kind: 'file', many: true },
  read: { does: 'A file or folder that it may read.', value: 'PATH', kind: 'file', many: true },
  network: { does: 'Its access to the network.', value: 'KIND', oneOf: ['none', 'full'] },
  image: { does: 'In a container: the image.', value: 'IMAGE' },
  memory: { does: 'In a container: the maximum memory, in MiB.', value: 'MB' },
  pids: { does: 'In a container: the maximum number of processes.', value: 'N' },
} as const satisfies Record<string, Flag>

/** `toolroom help isolation`. */
export const ISOLATION_PAGE = `Where the process of a local server runs, and what it may reach there.

  --isolation none       It has all your rights.
  --isolation sandbox    Its home is empty, the system is read-only, and there
                         is no network, except for what the flags below allow.
  --isolation container  It runs in an image, with Docker or Podman.
  --write PATH           A file or folder that it may change.
  --read PATH            A file or folder that it may read.
  --close PATH           Remove a path again. Only for toolroom edit.
  --network none|full    Its access to the network.
  --image IMAGE          In a container: the image.
  --memory MB            In a container: the maximum memory, in MiB.
  --pids N               In a container: the maximum number of processes.

The flags of add, edit and trial. --write, --read and --close may be repeated,
and a path must exist. toolroom trial SERVER finds out what a server needs,
toolroom doctor what this computer can do.

Example: toolroom trial files --isolation sandbox
         toolroom edit files --isolation sandbox --write ~/notes`
