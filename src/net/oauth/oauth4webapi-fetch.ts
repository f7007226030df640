import { allowInsecureRequests, customFetch } from 'oauth4webapi'
import type { ProofSigner } from '../authorizer.ts'
import type { Answer } from './compatibility-fixes.ts'
import type { OAuthHttp, OAuthResponse } from './oauth-http.ts'

interface Sent {
  readonly body: string | URLSearchParams
  readonly headers: Record<string, string>
}

interface RequestOptions {
  readonly withinMs?: number
  /** Adds a DPoP header, and repeats a request once with the nonce that the issuer requires. */
  readonly signer?: ProofSigner | undefined
}

/**
 * Options of the library that send its requests with our client. `accept` throws when the issuer refuses, and otherwise
 * returns the answer in the form that the library accepts. OAuthHttp decides about http URLs, so the library permits them.
 */
export function requestsThrough(
  http: OAuthHttp,
  accept: (response: OAuthResponse) => Answer,
  { withinMs, signer }: RequestOptions = {},
) {
  const fetch = async (address: string, { body, headers }: Sent): Promise<Response> => {
    const url = new URL(address)
    const send = () => {
      const proof = signer && { dpop: signer.proof('POST', url) }
      return http.post(url, body.toString(), { ...headers, ...proof }, withinMs)
    }
    let response = await send()
    if (signer && response.json?.error === 'use_dpop_nonce') {
      signer.nonce = [response.headers['dpop-nonce']].flat()[0]
      response = await send()
    }
    const answer = accept(response)
    const type = { 'content-type': 'application/json' }
    return new Response(JSON.stringify(answer.body), { status: answer.status, headers: type })
  }
  return { [customFetch]: fetch, [allowInsecureRequests]: true } as const
}
