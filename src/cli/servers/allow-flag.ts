import type { Flag } from '../run/command.ts'

export const ALLOW_FLAG: Flag = {
  does: 'A value that may leave, as --dry-run shows it.',
  value: 'TEXT',
  many: true,
}
