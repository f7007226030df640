import type { Definition } from '../../mcp/protocol/lists.ts'
import { type Catalogues, instructionsIn } from '../../servers/shared/catalogues.ts'
import type { Pins } from './pins.ts'

/** What agents may not use before it is approved. */
export interface Approval {
  /** Throws when the tool waits for approval. */
  readonly admitTool: (serverId: string, tool: string) => void
  /** Throws when the prompt waits for approval. */
  readonly admitPrompt: (serverId: string, prompt: string) => void
  readonly isHeldPrompt: (serverId: string, definition: Definition) => boolean
  readonly holdsInstructions: (serverId: string) => boolean
}

/** Undefined when nothing is ever held. */
export function approvalOf(pins: Pins, catalogues: Pick<Catalogues, 'of'>): Approval | undefined {
  if (!pins.hold) return undefined
  return {
    admitTool: (server_id, name) =>
      pins.refuseHeld({ server_id, kind: 'tool', name }, catalogues.of(server_id)?.tools ?? []),
    admitPrompt: (server_id, name) =>
      pins.refuseHeld({ server_id, kind: 'prompt', name }, catalogues.of(server_id)?.prompts ?? []),
    isHeldPrompt: (serverId, definition) => pins.isHeld(serverId, 'prompt', definition),
    holdsInstructions(serverId) {
      const catalogue = catalogues.of(serverId)
      const definitions = catalogue ? instructionsIn(catalogue) : []
      return definitions.some((definition) => pins.isHeld(serverId, 'instructions', definition))
    },
  }
}
