import type { Static } from 'typebox'
import * as Type from 'typebox'
import { component, listOf, orNull } from '../../../kernel/wire.ts'
import { lastErrorSchema, ServerId } from '../../shared/server-fields.ts'

export const Runtime = Type.Object({
  command: Type.String({ description: 'As servers name it. Secrets are masked', examples: ['uvx'] }),
  path: orNull(
    Type.String({ description: 'The program that a start runs', examples: ['/home/me/.local/bin/uvx'] }),
  ),
  version: orNull(
    Type.String({ description: 'Only of the Node.js that runs Toolroom', examples: ['20.20.2'] }),
  ),
  problem: lastErrorSchema('command_not_found'),
  shell_path: orNull(
    Type.String({
      description:
        'Where your login shell finds it, if only a shell does: a Toolroom that a desktop or a service manager starts has another PATH',
      examples: ['/home/me/tools/uvx'],
    }),
  ),
  needed_by: Type.Array(ServerId, { description: 'The STDIO servers that run it' }),
})
export type Runtime = Static<typeof Runtime>
component({ Runtime }, 'A program that STDIO servers need')
export const RuntimeList = listOf(Runtime)
