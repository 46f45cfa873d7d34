// Browsers that do not open the folded parts around a link's target by themselves.

function startFolding() {
  function reveal() {
    const target = document.querySelector(":target");
    if (!target) return;
    let closed = false;
    for (let each = target; each; each = each.parentElement) {
      if (each.tagName === "DETAILS" && !each.open) each.open = closed = true;
    }
    if (closed) target.scrollIntoView();
  }
  window.addEventListener("hashchange", reveal);
  // A link to the target that the address already names changes nothing, so no event tells of it.
  document.addEventListener("click", (event) => {
    const link = event.target.closest && event.target.closest("a[href^='#']");
    if (link && link.getAttribute("href") === location.hash) reveal();
  });
  reveal();
}
