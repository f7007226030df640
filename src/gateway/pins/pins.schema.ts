import * as Type from 'typebox'
import { component, orNull } from '../../kernel/rest-parts.ts'
import { partial, text, textOrNull } from '../../kernel/schema-fields.ts'
import { HeldChange, ToolList } from '../../kernel/tool-fields.ts'

const Hash = text(
  'The hash of the definition that you have reviewed. If it has changed since, it is not approved',
  { pattern: '^[0-9a-f]{64}$', expected: 'the hash of a definition, 64 hexadecimal digits' },
)
const Approval = partial({ hash: Hash })
component({ ApproveInput: Approval }, 'What to approve', { examples: [{}] })
export const ApproveInput = Type.Union([Approval, Type.Null()], { examples: [{}] })

export const PromptKey = Type.Object({
  id: text('The id, or the exact name', { examples: ['github'] }),
  prompt: Type.String({ examples: ['review'] }),
})

const State = Type.Enum(['ok', 'held'], {
  description: '`held`: new or changed, and agents do not see it until it is approved',
})

export const Prompt = Type.Object({
  name: Type.String({ examples: ['review'] }),
  title: orNull(Type.String()),
  description: orNull(Type.String()),
  arguments: Type.Array(Type.Unknown(), { description: 'As the server sent them' }),
  hash: text('SHA-256 of the definition. It changes whenever the prompt changes'),
  state: State,
  change: orNull(HeldChange),
})
export type Prompt = Type.Static<typeof Prompt>
component({ Prompt }, 'A prompt, and whether agents see it')

const { total, next_cursor, source, fetched_at } = ToolList.properties
export const PromptList = Type.Object({ items: Type.Array(Prompt), total, next_cursor, source, fetched_at })
component({ PromptList }, 'The prompts of a server')

export const Instructions = Type.Object({
  instructions: textOrNull('The current text, also while it is held'),
  hash: textOrNull('SHA-256 of the text, null without one'),
  state: State,
  change: orNull(HeldChange),
})
export type Instructions = Type.Static<typeof Instructions>
component({ Instructions }, "A server's instructions, and whether agents get them")
