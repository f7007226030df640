import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ownFolder } from './folder.ts'
import type { House } from './house.ts'
import { post, register } from './running.ts'

type Definition = Readonly<Record<string, unknown>>

/** A server named `retold` whose tools the test sets, with change notifications. */
export function retold(first: readonly Definition[]) {
  const file = join(ownFolder(), 'tools.json')
  const write = (tools: readonly Definition[]) => writeFileSync(file, JSON.stringify(tools))
  write(first)
  return {
    /** Sets its tools, without a notification. */
    write,
    add: (house: House, more: object = {}) => register(house, 'retold', [`--file=${file}`], more),
    async offer(house: House, tools: readonly Definition[]): Promise<void> {
      write(tools)
      await post(house, '/api/servers/retold/tools/tell/call', {})
    },
  }
}
