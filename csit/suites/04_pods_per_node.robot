*** Settings ***
Documentation       Scale: fifty pods on a node (upstream's suite stops at nine), and nothing left when they are gone.
Resource            ../resources/coeus.resource
Suite Setup         Start Two Nodes
Suite Teardown      Stop Lab

*** Variables ***
${PODS PER NODE}    50

*** Test Cases ***
Fifty Pods On Each Of Two Nodes
    FOR    ${number}    IN RANGE    10    ${10 + ${PODS PER NODE}}
        Create And Plug Pod    a${number}    blue    1    10.11.1.${number}    10.11.1.1
        Create And Plug Pod    b${number}    blue    2    10.11.2.${number}    10.11.2.1
    END
    Pod Should Reach Every Nth    blue:a10    blue    3
    Pod Should Reach Every Nth    blue:b59    blue    3

Deleting Them Leaves No Flow And No Port
    FOR    ${number}    IN RANGE    10    ${10 + ${PODS PER NODE}}
        Delete Pod    a${number}    blue
        Delete Pod    b${number}    blue
        Unplug Pod    a${number}    blue
        Unplug Pod    b${number}    blue
    END
    Resource Should Not Exist    ${CONFIG}/l3vpn:vpn-instances/vpn-instance/blue
    FOR    ${node}    IN    1    2
        ${left}=    Flows Naming    ${node}    10.11.
        Should Be Empty    ${left}
        ${stale}=    Stale Ports    ${node}
        Should Be Empty    ${stale}
    END

*** Keywords ***
Start Two Nodes
    Start Lab And Session    2
    Announce Node    1    10.11.1.0/24
    Announce Node    2    10.11.2.0/24
