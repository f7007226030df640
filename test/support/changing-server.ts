import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ownFolder } from './folder.ts'
import { post, register } from './running-servers.ts'
import type { TestService } from './test-service.ts'

type Definition = Readonly<Record<string, unknown>>

/** The tools alone, or everything that the server offers. A server without `prompts` does not declare any. */
type Offer =
  | readonly Definition[]
  | {
      readonly tools?: readonly Definition[]
      readonly prompts?: readonly Definition[]
      readonly instructions?: string
    }

/** A server named `changing` whose tools, prompts and instructions a test can change. */
export function changingServer(first: Offer) {
  const file = join(ownFolder(), 'tools.json')
  const write = (offer: Offer) => writeFileSync(file, JSON.stringify(offer))
  write(first)
  return {
    /** Changes the offer without a notification. */
    write,
    add: (service: TestService, more: object = {}) => register(service, 'changing', [`--file=${file}`], more),
    /** Changes the offer and lets the server notify of changed tools and prompts. Instructions need a restart. */
    async offer(service: TestService, offer: Offer): Promise<void> {
      write(offer)
      await post(service, '/api/servers/changing/tools/tell/call', {})
    },
  }
}
