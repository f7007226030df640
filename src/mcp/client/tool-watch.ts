import { ListWatch } from './list-watch.ts'
import { NO_TOOLS, type ToolList } from './tool-list.ts'

interface Options {
  readonly list: (timeoutMs: number) => Promise<ToolList>
  /** For every list but the first. */
  readonly timeoutMs: number
  readonly onTools: (list: ToolList) => void
}

/** Knows the tools of a server and hears when they change. */
export class ToolWatch extends ListWatch<ToolList> {
  constructor({ list, timeoutMs, onTools }: Options) {
    super({ list, timeoutMs, none: NO_TOOLS, onList: onTools })
  }
}
