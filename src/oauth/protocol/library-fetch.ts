import { allowInsecureRequests, customFetch } from 'oauth4webapi'
import type { Answer } from './mends.ts'
import type { OAuthHttp, OAuthResponse } from './oauth-http.ts'

interface Sent {
  readonly body: string | URLSearchParams
  readonly headers: Record<string, string>
}

/**
 * Options of the library that send its requests with our client. `accept` throws when the issuer refuses, and otherwise
 * returns the answer in the form that the library accepts. OAuthHttp decides about http URLs, so the library permits them.
 */
export function requestsThrough(
  http: OAuthHttp,
  accept: (response: OAuthResponse) => Answer,
  withinMs?: number,
) {
  const fetch = async (url: string, { body, headers }: Sent): Promise<Response> => {
    const response = await http.post(new URL(url), body.toString(), headers, withinMs)
    const answer = accept(response)
    const type = { 'content-type': 'application/json' }
    return new Response(JSON.stringify(answer.body), { status: answer.status, headers: type })
  }
  return { [customFetch]: fetch, [allowInsecureRequests]: true } as const
}
