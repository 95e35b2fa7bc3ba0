import type { ModelManifest } from '../../contracts/model.js';
import type { Principal } from '../access/principal.js';
import type { EdgeDeps } from '../deps.js';
import type { Given } from '../query.js';
import type { RequestState, Tally } from '../request.js';

/** A request with many pictures, before they are read. */
export interface Batch {
  readonly deps: EdgeDeps;
  readonly request: RequestState & { readonly tally: Tally };
  readonly principal: Principal;
  readonly manifest: ModelManifest;
  /** Parameters of all pictures. */
  readonly query: Given;
  /** Milliseconds that each picture has to find room, and then for its result. */
  readonly timeoutMs: number;
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal;
}
