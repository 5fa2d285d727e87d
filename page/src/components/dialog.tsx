import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

/** A window in front of the page; Escape closes it, and the focus goes back. */
export function Dialog(props: { title: string; onClose: () => void; children: ComponentChildren; wide?: boolean }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    dialog.current?.showModal();
    return () => before?.focus?.();
  }, []);
  return (
    <dialog ref={dialog} class={props.wide ? "wide" : ""} aria-labelledby="dialog-title" onClose={props.onClose}>
      <div class="dialog-head">
        <h2 id="dialog-title">{props.title}</h2>
        <button class="plain" aria-label="Close" onClick={() => dialog.current?.close()}>
          ✕
        </button>
      </div>
      {props.children}
    </dialog>
  );
}
